# /// step
# agent = "collector"
# model = "demo-small"
# call = "call_0006"
# produces = ["data/rides.csv"]
# summary = "rides as the counters would report them, faults and all"
# ///
import csv
import os
import random

COLUMNS = ["day", "hour", "temp", "wind", "rain", "rides"]


def expected(hour):
    """What people would do: commute on workdays, stroll at weekends, stay at home in the rain."""
    clock, weekend = hour["hour"], hour["day"] % 7 >= 5
    if weekend:
        base = 230 * max(0.05, 1 - abs(clock - 14) / 9)
    else:
        base = 60 + 300 * max(0, 1 - abs(clock - 8) / 2) + 340 * max(0, 1 - abs(clock - 17) / 3)
        base *= 0.25 if clock < 6 else 1
    return max(2.0, base * (0.55 + 0.03 * hour["temp"]) * (1 - 0.012 * hour["wind"]) / (1 + 0.9 * hour["rain"]))


def report(weather, seed):
    """One line for each hour, now and then missing, doubled or absurd."""
    chance = random.Random(seed + 1)
    for hour in weather:
        mean = expected(hour)
        line = [hour["day"], hour["hour"], f"{hour['temp']:.1f}", f"{hour['wind']:.1f}", f"{hour['rain']:.1f}",
                max(0, round(chance.gauss(mean, mean ** 0.5)))]
        luck = chance.random()
        if luck < 0.02:
            line[chance.randrange(2, 5)] = ""
        elif luck < 0.03:
            line[2] = "999.9"
        yield line
        if 0.03 <= luck < 0.05:
            yield line


os.makedirs("data", exist_ok=True)
with open("data/rides.csv", "w", newline="", encoding="utf-8") as file:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    lines = 0
    for line in report(weather, SEED):
        writer.writerow(line)
        lines += 1
print(f"wrote {lines} lines to data/rides.csv")
