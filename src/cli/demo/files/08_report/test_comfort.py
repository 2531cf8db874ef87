# /// step
# kind = "test"
# agent = "critic"
# model = "demo-large"
# call = "call_0033"
# summary = "every band has hours, and fine weather has more rides than grim"
# ///


def test_every_band_has_hours():
    assert all(bands.values()), {band: len(rides) for band, rides in bands.items()}


def test_fine_weather_brings_rides():
    assert by_comfort["fine"] > by_comfort["fair"] > by_comfort["grim"] > 0


for test in (test_every_band_has_hours, test_fine_weather_brings_rides):
    test()
    print("ok", test.__name__)
