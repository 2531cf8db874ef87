# /// step
# kind = "test"
# agent = "cleaner"
# model = "demo-small"
# call = "call_0013"
# summary = "nothing missing, nothing twice, nothing absurd"
# ///


def test_every_hour_is_there_once():
    assert len(clean) == DAYS * 24
    assert [(row["day"], row["hour"]) for row in clean] == [(d, h) for d in range(DAYS) for h in range(24)]


def test_nothing_is_missing():
    assert all(value is not None for row in clean for value in row.values())


def test_the_weather_is_possible():
    assert all(-30 < row["temp"] < 45 and row["wind"] >= 0 and row["rain"] >= 0 for row in clean)


for test in (test_every_hour_is_there_once, test_nothing_is_missing, test_the_weather_is_possible):
    test()
    print("ok", test.__name__)
