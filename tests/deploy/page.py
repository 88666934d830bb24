"""The status page in a real browser: at the width of a phone and of a desk, with a few volumes and
with thousands, nothing sticks out, and every volume can be found without scripts.

SCREENSHOTS=FOLDER keeps a picture of each."""

import html
import os
import re
import unittest
from pathlib import Path

from browser import Browser
from model import Model
from objects import main

SIZES = {"phone": (390, 844), "desk": (1440, 900)}
# How far the page can be moved sideways.
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Elements whose right edge is beyond the window's.
STICKING_OUT = """
[...document.body.querySelectorAll('*')]
  .filter(e => e.offsetParent !== null && getComputedStyle(e.closest('thead') || e).position !== 'absolute')
  .filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map(e => e.tagName + ': ' + e.textContent.slice(0, 60)).slice(0, 5)
"""


class Page(unittest.TestCase):
    def look(self, count):
        with Model(count) as model, Browser() as browser:
            model.cli("fence", "10.9.9.9/32", "--cluster", "site-a", "--yes")
            model.cli("reclaim", model.volumes[3])
            base = model.metrics_url.rsplit("/", 1)[0] + "/"
            for name, (width, height) in SIZES.items():
                for dark in (False, True):
                    with self.subTest(volumes=count, size=name, dark=dark):
                        browser.open(base, width, height, dark)
                        self.assertEqual(browser.evaluate(TOO_WIDE), 0)
                        self.assertEqual(browser.evaluate(STICKING_OUT), [])
                        self.assertIn(f"Volumes under replication: {count}", browser.evaluate("document.body.innerText"))
                        if folder := os.environ.get("SCREENSHOTS"):
                            browser.screenshot(Path(folder) / f"{count}-{name}-{'dark' if dark else 'light'}.png")
            self.find_volumes(model, browser, base)
            if count > 10:
                self.find_trouble(browser, base)

    def find_volumes(self, model, browser, base):
        """By the links of the page, and by the form."""
        seen, todo = set(), ["/"]
        done = set()
        while todo:
            path = todo.pop()
            done.add(path)
            text = model.get(path)
            seen |= set(re.findall(r"<b>(csi-vol-[\w-]+)</b>", text))
            self.assertLess(len(text), 400_000)
            for link in re.findall(r'href="(\?page=\d+)', text):
                if "/" + link not in done and "/" + link not in todo:
                    todo.append("/" + link)
        self.assertEqual(seen, {f"csi-vol-{volume[-36:]}" for volume in model.volumes})
        wanted = model.volumes[-1][-36:]
        browser.open(base, *SIZES["desk"])
        browser.evaluate(f"document.querySelector('input[name=q]').value = '{wanted.upper()}'")
        browser.evaluate("document.querySelector('form').submit()")
        while (message := browser.receive()).get("method") != "Page.loadEventFired":
            pass
        self.assertEqual(browser.evaluate("[...document.querySelectorAll('td.name > b')].map(e => e.textContent)"),
                         [f"csi-vol-{wanted}"], message)
        self.assertEqual(browser.evaluate("document.querySelector('input[name=q]').value"), wanted.upper())
        nothing = model.get("/?q=%3Cscript%3E&health=trouble&page=99")
        self.assertIn("none is like that", nothing)
        self.assertIn(html.escape("<script>"), nothing)
        self.assertNotIn("<script", nothing)

    def find_trouble(self, browser, base):
        browser.open(base, *SIZES["phone"])
        heading = browser.evaluate("document.querySelector('h1').textContent")
        self.assertIn("split brain of 1 volume", heading)
        first = browser.evaluate("document.querySelector('td[data-l=health]').textContent")
        self.assertEqual(first, "split brain")
        browser.open(base + "?health=trouble", *SIZES["phone"])
        shown = browser.evaluate("[...document.querySelectorAll('td[data-l=health]')].map(e => e.textContent)")
        self.assertTrue(shown)
        self.assertNotIn("healthy", shown)

    def test_a_few_volumes(self):
        self.look(5)

    def test_hundreds(self):
        self.look(500)

    def test_thousands(self):
        self.look(5000)


if __name__ == "__main__":
    main()
