import collections
import csv
import math
import random
import statistics

random.seed(42)
# %%
def draw(size, spread=2.5):
    return [round(random.gauss(10, spread), 3) for _ in range(size)]

heights = draw(60)
weights = [round(h * 1.5 + random.random(), 3) for h in heights]
print(len(heights), heights[:3])
# %%
rows = [{"height": h, "weight": w, "group": "ab"[n % 2]} for n, (h, w) in enumerate(zip(heights, weights))]
with open("data.txt", "w", newline="") as file:
    writer = csv.DictWriter(file, ["height", "weight", "group"])
    writer.writeheader()
    writer.writerows(rows)
# %%
with open("data.txt", newline="") as file:
    table = [{**row, "height": float(row["height"]), "weight": float(row["weight"])} for row in csv.DictReader(file)]
print(len(table), table[0])
# %%
mean = statistics.fmean(row["height"] for row in table)
median = statistics.median(row["height"] for row in table)
print(f"{mean:.3f} {median:.3f}")
# %%
class Running:
    """Mean and spread as values come (Welford)."""

    kept = 0

    def __init__(self):
        self.count, self.mean, self.squares = 0, 0.0, 0.0

    def add(self, value):
        self.count += 1
        Running.kept += 1
        step = value - self.mean
        self.mean += step / self.count
        self.squares += step * (value - self.mean)
        return self

    def __repr__(self):
        return f"Running({self.count}, {self.mean:.4f})"
# %%
running = Running()
for row in table:
    running.add(row["height"])
print(running, Running.kept)
# %%
groups = collections.defaultdict(list)
for row in table:
    groups[row["group"]].append(row)
sizes = {name: len(part) for name, part in groups.items()}
print(sorted(sizes.items()))
# %%
for row in groups["a"]:
    row["weight"] -= 2
print(f"{statistics.fmean(row['weight'] for row in table):.3f}")
# %%
bins = collections.Counter(int(row["height"]) // 2 for row in table)
for edge, count in sorted(bins.items()):
    print(f"{edge * 2:3} {'#' * count}")
# %%
def correlate(left, right):
    a, b = statistics.fmean(left), statistics.fmean(right)
    top = sum((x - a) * (y - b) for x, y in zip(left, right))
    return top / math.sqrt(sum((x - a) ** 2 for x in left) * sum((y - b) ** 2 for y in right))

fit = correlate([row["height"] for row in table], [row["weight"] for row in table])
print(f"{fit:.4f}")
# %%
try:
    limit = float(threshold)
except NameError:
    limit = 12.0
tall = [row for row in table if row["height"] > limit]
print(len(tall))
# %%
random.seed(7)
samples = [statistics.fmean(random.choices(heights, k=20)) for _ in range(50)]
low, high = sorted(samples)[2], sorted(samples)[-3]
print(f"{low:.3f} {high:.3f}")
# %%
pending = (row["height"] for row in tall)
first = next(pending, None)
print(first)
# %%
rest = list(pending)
summary = {"mean": round(mean, 3), "fit": round(fit, 4), "tall": len(tall), "rest": len(rest), "who": running}
print(summary)
# %%
with open("report.txt", "w") as file:
    file.write("\n".join(f"{key}: {value}" for key, value in summary.items()))
print(open("report.txt").read())
