# /// step
# agent = "featurist"
# model = "demo-small"
# call = "call_0015"
# summary = "weekday, weekend, and how far from each rush hour"
# ///
calendar = []
for row in clean:
    weekend = row["day"] % 7 >= 5
    calendar.append({
        "weekend": float(weekend),
        "morning": 0.0 if weekend else max(0.0, 1 - abs(row["hour"] - 8) / 2),
        "evening": 0.0 if weekend else max(0.0, 1 - abs(row["hour"] - 17) / 3),
        "stroll": max(0.0, 1 - abs(row["hour"] - 14) / 9) if weekend else 0.0,
    })
print(f"{sum(day['weekend'] for day in calendar) / 24:.0f} weekend days of {DAYS}")
