# /// step
# agent = "cleaner"
# model = "demo-small"
# call = "call_0009"
# summary = "text to numbers; an empty cell is None"
# ///
NUMBERS = {"day": int, "hour": int, "temp": float, "wind": float, "rain": float, "rides": int}

parsed = [{name: make(row[name]) if row[name] else None for name, make in NUMBERS.items()} for row in raw]
empty = {name: sum(row[name] is None for row in parsed) for name in NUMBERS}
print("empty cells:", ", ".join(f"{name} {count}" for name, count in empty.items() if count))
