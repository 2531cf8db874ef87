# /// step
# agent = "cleaner"
# model = "demo-small"
# call = "call_0010"
# summary = "each hour once"
# ///
unique = list({(row["day"], row["hour"]): row for row in parsed}.values())
print(f"{len(parsed) - len(unique)} hours were reported twice")
