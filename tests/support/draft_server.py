"""A chat model on this machine that drafts by script, and a corpus of which every word is known.

Each document has one passage of four sentences; no two sentences have a word in common. The drafts
of a document whose name is that of a fault have this fault.
"""

import re
from contextlib import contextmanager

from tests.support.judge_server import sitting
from tests.support.small import project

FAULTS = ("unread", "silent", "refers", "leaks", "quote", "twin", "unsupported", "known")
PASSAGE = re.compile(r'<passage number="(\d)" document="(.*?)">\n(.*?)\n</passage>', re.DOTALL)
SYLLABLES = ("ba", "de", "fi", "go", "lu", "ma", "ne", "pi")


def word(number):
    """Return a word that no other number has."""
    digits = [number >> shift & 7 for shift in (0, 3, 6, 9)]
    return "".join(SYLLABLES[digit] for digit in digits) + "n"


def sentences(number):
    """Return the four sentences of a document: seven words and a figure each."""
    starts = range(number * 28, number * 28 + 28, 7)
    each = [(" ".join(word(start + at) for at in range(7)), start) for start in starts]
    return [f"{words.capitalize()} {1000 + start} units." for words, start in each]


def corpus(names):
    """Return documents of these names, by file name."""
    return {
        f"{name}.md": f"{' '.join(sentences(number))}\n" for number, name in enumerate(names, 1)
    }


class Script:
    """Says what a model would, by the prompt; `interrupt_at` is the draft at which it is silent."""

    def __init__(self, faulty=True):
        self.faulty = faulty
        self.drafts = 0
        self.answers = {}
        """By question: the answer that the script gave, and the fault of its document."""

    def __call__(self, prompt):
        passages = PASSAGE.findall(prompt)
        if passages:
            self.drafts += 1
            if "does not answer" in prompt:
                return self.unanswerable(*passages[0][1:])
            return self.draft(passages)
        question = re.search(r"(?:<question>\n|Question: )(.*)", prompt)[1]
        answer, fault = self.answers.get(question, ("", ""))
        if "<context>" in prompt:
            return f"{'yes' if fault == 'there' else 'no'}\nSo it is."
        if "<evidence>" in prompt:
            return f"{'no' if fault == 'unsupported' else 'yes'}\nSo it is."
        return answer if fault == "known" else "Nobody knows."

    def draft(self, passages):
        fault = passages[0][1] if self.faulty else ""
        quotes = [re.search(r"[^.]+\.", text)[0].strip() for _, _, text in passages]
        subject = " and ".join(" ".join(quote.split()[1:4]) for quote in quotes)
        answer = " and ".join(quote.split()[-2] for quote in quotes) + " units"
        question = f"How much is counted for {subject}?"
        if fault == "unread":
            return "I would ask about something else."
        if fault == "silent":
            return None
        if fault == "refers":
            question = f"How much does the passage count for {subject}?"
        if fault == "leaks":
            question = f"Why is it {answer} for {subject}?"
        if fault == "quote":
            quotes[0] = "Nothing of this kind was ever written anywhere by anybody at all."
        if fault == "unsupported":
            answer = "a dozen, as everybody knows"
        if fault == "alone":
            quotes = quotes[:1] * len(quotes)
        self.answers[question] = answer, fault
        lines = [f"EVIDENCE {at}: {quote!r}" for at, quote in enumerate(quotes, 1)]
        return "\n".join([f"**QUESTION:** {question}", f"ANSWER: {answer}", *lines])

    def unanswerable(self, title, text):
        question = f"Who came up with {' '.join(text.split()[1:5])}?"
        self.answers[question] = "", title if self.faulty else ""
        return f"QUESTION: {question}"


@contextmanager
def drafting(folder, names, questions=None, says=None, **changes):
    """Write a project whose documents have these names, with a model; give config and model."""
    says = Script() if says is None else says
    with sitting(says) as bench:
        chat = {**bench.settings(), "model": "openai:drafter", "concurrent": 4}
        config = project(folder, questions, **{"chat": chat, **changes})
        for path in (folder / "corpus").iterdir():
            path.unlink()
        for name, text in corpus(names).items():
            (folder / "corpus" / name).write_text(text, encoding="utf-8")
        if questions is None:
            (folder / "testset.jsonl").unlink()
        yield config, bench
