# /// step
# agent = "cleaner"
# model = "demo-small"
# call = "call_0012"
# summary = "gaps in the weather take the mean of their neighbours"
# ///


def fill(rows, name):
    """The column with each None replaced by the mean of the nearest values before and after."""
    values = [row[name] for row in rows]
    filled = 0
    for at, value in enumerate(values):
        if value is None:
            before = next((v for v in reversed(values[:at]) if v is not None), None)
            after = next((v for v in values[at + 1:] if v is not None), None)
            near = [v for v in (before, after) if v is not None]
            values[at] = round(sum(near) / len(near), 2)
            filled += 1
    print(f"{name}: {filled} filled")
    return values


columns = {name: fill(sane, name) for name in ("temp", "wind", "rain")}
clean = [
    {**row, **{name: column[at] for name, column in columns.items()}}
    for at, row in enumerate(sane)
]
