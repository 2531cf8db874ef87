# /// step
# agent = "critic"
# model = "demo-large"
# call = "call_0025"
# summary = "busy hours found, missed and cried wolf"
# ///
found = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
for rides, p in zip(y_test, busy_chance):
    found[rides >= BUSY, p >= 0.5] += 1

right = found[True, True] + found[False, False]
print(f"{right} of {len(y_test)} hours told right")
print("                told busy   told quiet")
print(f"  was busy     {found[True, True]:10}   {found[True, False]:10}")
print(f"  was quiet    {found[False, True]:10}   {found[False, False]:10}")
