# /// step
# agent = "featurist"
# model = "demo-small"
# call = "call_0016"
# summary = "how pleasant it is to ride, from 0 to 1"
# ///


def comfort_of(row):
    """Best at 22 degrees without wind or rain."""
    warmth = max(0.0, 1 - abs(row["temp"] - 22) / 20)
    return round(warmth * (1 - min(row["wind"], 40) / 60) / (1 + row["rain"]), 3)


outdoors = [{"day": row["day"], "hour": row["hour"], "comfrot": comfort_of(row)} for row in clean]
print(f"comfort from {min(map(comfort_of, clean)):.2f} to {max(map(comfort_of, clean)):.2f}")
