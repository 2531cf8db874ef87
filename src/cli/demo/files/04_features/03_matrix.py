# /// step
# agent = "featurist"
# model = "demo-small"
# call = "call_0017"
# summary = "one row of numbers for each hour, a constant first"
# ///
FEATURES = ["one", "weekend", "morning", "evening", "stroll", "temp", "wind", "rain", "daylight"]

X = []
for row, day in zip(clean, calendar):
    daylight = 1.0 if 6 <= row["hour"] < 22 else 0.0
    X.append([1.0, *day.values(), row["temp"] / 10, row["wind"] / 10, min(row["rain"], 3.0), daylight])
y = [float(row["rides"]) for row in clean]

assert len(X[0]) == len(FEATURES)
print(f"{len(X)} rows of {len(FEATURES)}: {', '.join(FEATURES)}")
