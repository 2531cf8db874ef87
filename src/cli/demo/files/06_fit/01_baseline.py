# /// step
# agent = "modeller"
# model = "demo-large"
# call = "call_0020"
# summary = "the mean of the same hour, workdays and weekends apart"
# ///
from math import fsum

seen = {}
for at, rides in enumerate(y_train):
    seen.setdefault((clean[at]["hour"], clean[at]["day"] % 7 >= 5), []).append(rides)
hourly_mean = {key: fsum(values) / len(values) for key, values in seen.items()}

baseline = [hourly_mean[row["hour"], row["day"] % 7 >= 5] for row in clean[cut:]]
print(f"{len(hourly_mean)} means; at 8 on a workday {hourly_mean[8, False]:.0f}, on a weekend {hourly_mean[8, True]:.0f}")
