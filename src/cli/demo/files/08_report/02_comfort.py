# /// step
# agent = "writer"
# model = "demo-small"
# call = "call_0030"
# summary = "rides by how pleasant the hour is"
# ///
from math import fsum

bands = {"grim": [], "fair": [], "fine": []}
for row, rides in zip(outdoors, y):
    if 7 <= row["hour"] <= 20:
        comfort = row["comfort"]
        band = "grim" if comfort < 0.25 else "fair" if comfort < 0.5 else "fine"
        bands[band].append(rides)

by_comfort = {band: fsum(rides) / len(rides) if rides else 0.0 for band, rides in bands.items()}
for band, mean in by_comfort.items():
    print(f"{band:5} {len(bands[band]):4} hours {mean:6.0f} rides an hour")
