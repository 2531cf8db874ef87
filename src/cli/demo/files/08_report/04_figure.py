# /// step
# agent = "writer"
# model = "demo-small"
# call = "call_0032"
# summary = "the first held-back week as a figure, where matplotlib is installed"
# ///
WEEK = 7 * 24
try:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError:
    marks = " .:-=+*#%@"
    most = max(y_test[:WEEK])
    print("matplotlib is not installed; a day a line, darker is more:")
    for day in range(7):
        hours = y_test[day * 24:day * 24 + 24]
        print("".join(marks[min(9, int(rides / most * 10))] * 2 for rides in hours))
else:
    figure, axes = plt.subplots(figsize=(8, 3))
    axes.plot(y_test[:WEEK], label="counted", linewidth=1)
    axes.plot(ridge[:WEEK], label="foretold", linewidth=1)
    axes.set_xlabel("hour of the week")
    axes.set_ylabel("rides")
    axes.legend()
    figure.tight_layout()
    figure.savefig("week.png", metadata={"Software": None})
    plt.close(figure)
    print("drew week.png")
