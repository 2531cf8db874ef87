# /// step
# agent = "critic"
# model = "demo-large"
# call = "call_0024"
# summary = "how far off each model is, on hours that it has not seen"
# ///
from math import fsum, sqrt


def score(truth, guess):
    errors = [g - t for t, g in zip(truth, guess)]
    mean = fsum(truth) / len(truth)
    spread = fsum((t - mean) ** 2 for t in truth)
    return {
        "off by": fsum(map(abs, errors)) / len(errors),
        "root mean square": sqrt(fsum(e * e for e in errors) / len(errors)),
        "explained": 1 - fsum(e * e for e in errors) / spread,
    }


scores = {"baseline": score(y_test, baseline), "ridge": score(y_test, ridge)}
print(f"{'':10}" + "".join(f"{name:>18}" for name in scores["ridge"]))
for model, values in scores.items():
    print(f"{model:10}" + "".join(f"{value:18.2f}" for value in values.values()))

table = [{"model": model, **{name: round(value, 2) for name, value in scores[model].items()}} for model in scores]
try:
    import pandas as pd
except ImportError:
    pass
else:
    table = pd.DataFrame(table).set_index("model")
table
