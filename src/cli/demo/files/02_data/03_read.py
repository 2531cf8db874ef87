# /// step
# agent = "collector"
# model = "demo-small"
# call = "call_0007"
# needs = ["02_data/02_rides"]
# summary = "the file as it was reported, all of it text"
# ///
import csv

with open("data/rides.csv", newline="", encoding="utf-8") as file:
    raw = list(csv.DictReader(file))

print(f"{len(raw)} rows of {', '.join(raw[0])}")
raw[0]
