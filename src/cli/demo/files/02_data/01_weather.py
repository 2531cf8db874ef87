# /// step
# agent = "collector"
# model = "demo-small"
# call = "call_0004"
# summary = "eight weeks of weather, hour by hour"
# ///
import math
import random


def make_weather(days, seed):
    """Temperature in degrees, wind in km/h and rain in mm for each hour."""
    chance = random.Random(seed)
    hours, front, rain = [], 0.0, 0.0
    for day in range(days):
        front = 0.8 * front + chance.gauss(0.0, 2.2)
        for hour in range(24):
            rain = max(0.0, 0.7 * rain + chance.gauss(-0.35, 0.8))
            daily = 6.0 * math.sin((hour - 9) / 24 * 2 * math.pi)
            hours.append({
                "day": day,
                "hour": hour,
                "temp": 13.0 + 0.12 * day + daily + front + chance.gauss(0.0, 0.7),
                "wind": abs(11.0 + 3.0 * math.sin(day / 5) + chance.gauss(0.0, 3.5)),
                "rain": rain,
            })
    return hours


weather = make_weather(DAYS, SEED)
wet = sum(hour["rain"] > 0.2 for hour in weather)
print(f"{len(weather)} hours, {wet} of them wet")
print(f"{min(h['temp'] for h in weather):.1f} to {max(h['temp'] for h in weather):.1f} degrees")
