# /// step
# kind = "test"
# agent = "critic"
# model = "demo-large"
# call = "call_0027"
# summary = "the model is worth having"
# ///


def test_weather_beats_the_clock():
    assert scores["ridge"]["off by"] < scores["baseline"]["off by"]


def test_most_of_it_is_explained():
    assert scores["ridge"]["explained"] > 0.75


def test_busy_hours_are_told():
    assert right / len(y_test) > 0.9


for test in (test_weather_beats_the_clock, test_most_of_it_is_explained, test_busy_hours_are_told):
    test()
    print("ok", test.__name__)
