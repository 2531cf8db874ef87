# /// step
# agent = "planner"
# model = "demo-large"
# call = "call_0001"
# summary = "what is asked, and the constants of the whole run"
# ///
"""How many bikes will be taken in an hour, and does the weather matter?"""

DAYS = 56
SEED = 11
HELD_BACK = 14  # days at the end, to judge by
RIDGE = 1.0
BUSY = 260  # rides in an hour

plan = ["make the data", "clean it", "build features", "hold back two weeks", "fit", "score", "report"]
for number, part in enumerate(plan, 1):
    print(f"{number}. {part}")
