"""What a PDF says: its text, by the maps from glyphs to letters that it has inside. In: bytes. Out: a string a page."""

import re
import zlib

HEX = re.compile(rb"<([0-9A-Fa-f]+)>")


def text_of(pdf: bytes) -> str:
    """All texts that are shown, in the order of the file."""
    objects = {int(n): body for n, body in re.findall(rb"\n(\d+) 0 obj\s(.*?)\sendobj", pdf, re.DOTALL)}
    maps = {}
    for number, body in objects.items():
        found = re.search(rb"/ToUnicode (\d+) 0 R", body)
        if found:
            maps[number] = _letters(_stream(objects[int(found[1])]))
    names = {
        name: maps[int(number)]
        for name, number in re.findall(rb"/(F\d+) (\d+) 0 R", pdf)
        if int(number) in maps
    }
    said = []
    for body in objects.values():
        if b"stream" in body and b" Tf" in (content := _stream(body)):
            said.append(_shown(content, names))
    return " ".join(said)


def _shown(content: bytes, names: dict[bytes, dict[int, str]]) -> str:
    letters, said = {}, []
    for token in re.finditer(rb"/(F\d+) [\d.-]+ Tf|<([0-9A-Fa-f]+)>|\bET\b", content):
        if token[1]:
            letters = names.get(token[1], {})
        elif token[2]:
            wide = 4 if max(letters, default=0) > 255 or len(token[2]) % 4 == 0 else 2
            codes = [int(token[2][i : i + wide], 16) for i in range(0, len(token[2]), wide)]
            said.append("".join(letters.get(code, "") for code in codes))
        else:
            said.append(" ")
    return "".join(said)


def _letters(cmap: bytes) -> dict[int, str]:
    found: dict[int, str] = {}
    for block in re.findall(rb"beginbfchar(.*?)endbfchar", cmap, re.DOTALL):
        codes = HEX.findall(block)
        for code, letter in zip(codes[::2], codes[1::2], strict=True):
            found[int(code, 16)] = bytes.fromhex(letter.decode()).decode("utf-16-be")
    for block in re.findall(rb"beginbfrange(.*?)endbfrange", cmap, re.DOTALL):
        codes = HEX.findall(block)
        for first, last, letter in zip(codes[::3], codes[1::3], codes[2::3], strict=True):
            start = int(letter, 16)
            for i, code in enumerate(range(int(first, 16), int(last, 16) + 1)):
                found[code] = chr(start + i)
    return found


def _stream(body: bytes) -> bytes:
    found = re.search(rb"stream\r?\n(.*?)\r?\nendstream", body, re.DOTALL)
    if not found:
        return b""
    return zlib.decompress(found[1]) if b"FlateDecode" in body else found[1]
