# /// step
# kind = "artifact"
# agent = "writer"
# model = "demo-small"
# call = "call_0031"
# produces = ["report.md"]
# summary = "what was found, in a file"
# ///
more = by_comfort["fine"] / by_comfort["grim"] if by_comfort["grim"] else float("inf")
text = f"""# Rides and weather

A model that knows clock and weather is off by {scores['ridge']['off by']:.0f} rides an hour; the clock alone by
{scores['baseline']['off by']:.0f}. It tells {right} of {len(y_test)} hours right as busy or quiet.

In fine weather {more:.1f} times as many bikes are taken as in grim weather.
"""
with open("report.md", "w", encoding="utf-8") as file:
    file.write(text)
print(text, end="")
