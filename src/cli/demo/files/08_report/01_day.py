# /// step
# agent = "writer"
# model = "demo-small"
# call = "call_0029"
# summary = "a workday as a chart: counted and foretold"
# ///
from math import fsum

shown = [at for at, row in enumerate(clean[cut:]) if row["day"] % 7 < 5]
by_hour = {
    hour: (
        fsum(y_test[at] for at in shown if at % 24 == hour) / (len(shown) / 24),
        fsum(ridge[at] for at in shown if at % 24 == hour) / (len(shown) / 24),
    )
    for hour in range(24)
}
top = max(max(pair) for pair in by_hour.values())
print("hour  counted # foretold |")
for hour, (counted, foretold) in by_hour.items():
    bar = list(("#" * round(counted / top * 50)).ljust(52))
    bar[round(foretold / top * 50)] = "|"
    print(f"{hour:4}  {''.join(bar).rstrip()}")
