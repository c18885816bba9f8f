"""Shards that differ: four sources made of one text, told apart by more than chance. The first is the text as it is,
the second is in capitals, in the third each line runs backwards, the fourth has no vowels. Each has another quarter of
the text. All files of a source have the same number of bytes.
"""
import re

FILE = "train.txt"  # of one source
MIXED = "all"  # folder of all of them
VALIDATION = "validation.txt"  # a ninth as much of each again

DIALECTS = [
    lambda text: text,
    str.upper,
    lambda text: "\n".join(line[::-1] for line in text.split("\n")),
    lambda text: re.sub("[aeiouAEIOU]", "", text),
]


def folder_of(folder, source):
    return folder / f"source-{source}"


def dialects(text, count, length):
    """`count` pairs of texts, for training and validation, of `length` and length / 9 bytes each."""
    quarter = len(text) // count
    pairs = []
    for i in range(count):
        spoken = DIALECTS[i % len(DIALECTS)](text[i * quarter:(i + 1) * quarter]).encode()
        if len(spoken) < length * 10 // 9:
            raise SystemExit(f"claims: the text is too short: its parts have {len(spoken)} bytes, and {length} are needed")
        pairs.append((whole(spoken[:length]), whole(spoken[length:length * 10 // 9])))
    return pairs


def whole(piece):
    """The same number of bytes, without the half of a character that a cut may leave at an end."""
    return piece.decode(errors="ignore").encode().ljust(len(piece))


def make(text_file, folder, count, length):
    """Writes the sources below `folder`, which it returns."""
    (folder / MIXED).mkdir(parents=True, exist_ok=True)
    pairs = dialects(text_file.read_text(encoding="utf-8"), count, length)
    for i, (training, _) in enumerate(pairs):
        folder_of(folder, i).mkdir(exist_ok=True)
        (folder_of(folder, i) / FILE).write_bytes(training)
        (folder / MIXED / f"source-{i}.txt").write_bytes(training)
    (folder / VALIDATION).write_bytes(b"".join(validation for _, validation in pairs))
    return folder
