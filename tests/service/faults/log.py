"""What was done to the outside, in order; any line can be held, and waited for."""

import threading
import time


class Held:
    """A line that stops whoever writes it until it is let go."""

    def __init__(self):
        self.reached, self.released = threading.Event(), threading.Event()

    def wait(self, limit=60.0):
        assert self.reached.wait(limit), "nobody came here"

    def let_go(self):
        self.released.set()


class Log:
    """Lines of all machines together; from any thread."""

    def __init__(self):
        self.lines = []
        self._held = {}
        self._news = threading.Condition()

    def add(self, line):
        """Write it; the Held that the writer must wait for, or None."""
        with self._news:
            self.lines.append(line)
            held = self._held.pop(line, None)
            self._news.notify_all()
        if held is not None:
            held.reached.set()
        return held

    def hold(self, line):
        """Stop the next writer of this line."""
        with self._news:
            return self._held.setdefault(line, Held())

    def let_go_of_all(self):
        with self._news:
            for held in self._held.values():
                held.let_go()
            self._held.clear()

    def until(self, line, *, since=0, limit=60.0):
        """The number of lines when this one stands behind `since`."""
        end = time.monotonic() + limit
        with self._news:
            while line not in self.lines[since:]:
                left = end - time.monotonic()
                assert left > 0, f"{line!r} did not come:\n" + "\n".join(self.acts()[-40:])
                self._news.wait(left)
            return len(self.lines)

    def count(self, line):
        return self.lines.count(line)

    def acts(self, name="", *, since=0):
        """All lines that say that something was done, not looked at."""
        looks = ("read identity", "read power", "read boot", "console")
        return [
            line
            for line in self.lines[since:]
            if line.startswith(name) and not line.endswith(looks)
        ]
