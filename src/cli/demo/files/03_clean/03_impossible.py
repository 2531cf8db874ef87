# /// step
# agent = "cleaner"
# model = "demo-small"
# call = "call_0011"
# summary = "what no thermometer in town can have seen becomes None"
# ///
LIMITS = {"temp": (-30, 45), "wind": (0, 150), "rain": (0, 80)}


def plausible(name, value):
    low, high = LIMITS.get(name, (0, 10_000))
    return value if value is not None and low <= value <= high else None


sane = [{name: plausible(name, value) for name, value in row.items()} for row in unique]
absurd = sum(a[name] != b[name] for a, b in zip(unique, sane) for name in a)
print(f"{absurd} values can't be")
