#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs what the pages tell readers to run: pages.py SOURCE BUILD FOLDER

Blocks with an entry Application are parameter files, and run. Others of `set` and `subsection` name entries that exist. Commands with
parameter files run, those of other kinds are commands of ./patchfem. Lines of C++ and CMake are those of the program that the page
names in front of them."""
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

source, build, folder = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
applications = sorted(path.name for path in (source / "parameter_files").iterdir() if (source / "applications" / path.name).is_dir())
mistakes = []


def run(command, **options):
    try:
        result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=250, **options)
    except subprocess.TimeoutExpired:
        mistakes.append(f"{' '.join(map(str, command))}\n  does not end")
        return ""
    if result.returncode != 0:
        mistakes.append(f"{' '.join(map(str, command))}\n  {result.stderr.strip()[-500:]}")
    return result.stdout


def blocks(page):
    """Indented and fenced blocks as (number of the first line, language, lines, text before)."""
    lines, language, block, start = page.read_text(encoding="utf-8").split("\n"), None, [], 0
    for number, line in enumerate(lines + [""], 1):
        fence = line.startswith("```")
        if language is None and fence:
            language, block, start = line[3:], [], number
        elif language is not None and not fence:
            block.append(line)
        elif fence or (block and not line.startswith("    ") and line.strip()) or number > len(lines):
            if any(block):
                yield start, language or "", block, "\n".join(lines[max(0, start - 8):start])
            language, block = None, []
        elif line.startswith("    ") or (block and not line.strip()):
            start = start if block else number
            block.append(line[4:])


def entries_of(text):
    """Paths Section/Entry of the text of a parameter file."""
    sections, found = [], []
    for line in text.split("\n"):
        word, _, rest = line.strip().partition(" ")
        if word == "subsection":
            sections.append(rest.strip())
        elif word == "end" and sections:
            sections.pop()
        elif word == "set":
            found.append("/".join(sections + [rest.partition("=")[0].strip()]))
    return found


known = {entry for name in applications for entry in entries_of(run([build / "applications" / name, "--help"]))}
usage = run(["bash", source / "patchfem", "help"])


def run_command(words, where, folder):
    """A command of a reader, with the number of ranks that this machine has room for."""
    if words[0] == "mpirun":
        program = build.joinpath(*pathlib.Path(words[3]).parts[1:])
        if program.parent.name == "applications":
            run(["mpirun", "-n", "2", program, *words[4:]], cwd=folder)
    elif words[:2] == ["./patchfem", "new"]:
        run(["bash", source / "patchfem", *words[1:]], cwd=folder)
    elif words[:2] == ["./patchfem", "run"] and words[2].endswith(".prm"):
        file = folder / words[2] if (folder / words[2]).exists() else source / words[2]
        named = re.match(r"set Application *= *(\w+)", file.read_text(encoding="utf-8")) if file.exists() else None
        application = named.group(1) if named else file.parent.name
        options = ["2" if before == "--ranks" else word for before, word in zip(words[2:], words[3:])]
        if "--output" not in options:
            options += ["--output", "commands"]
        run([build / "applications" / application, file, *options], cwd=folder)
    elif words[0] == "./patchfem" and not re.search(rf"^  (.*, )?{re.escape(words[1])}\b", usage, re.M):
        mistakes.append(f"{where}: ./patchfem knows no {words[1]}")


def check_lines(lines, before, where):
    """Each line but for comments and dots is one of the file that the page names last before."""
    named = re.findall(r"`((?:tests|applications|doc)/[\w/.-]+)`", before)
    if not named:
        mistakes.append(f"{where}: no program is named in front of this")
        return
    program = source / named[-1]
    files = [program] if program.is_file() else [f for f in program.rglob("*") if f.suffix in (".cc", ".h", ".txt")]
    text = {re.sub(r"\s+", " ", re.sub(r"(//|#).*", "", line)).strip() for f in files for line in f.read_text(encoding="utf-8").split("\n")}
    for line in lines:
        line = re.sub(r"\s+", " ", re.sub(r"(//|# ?\d|#$).*", "", line)).strip()
        if line and "..." not in line and not line.startswith("#include") and line not in text:
            mistakes.append(f"{where}: {named[-1]} has no line {line!r}")


def main():
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    n = 0
    for page in (source / "README.md", *sorted((source / "doc").glob("*.md"))):
        of_page = folder / page.stem
        of_page.mkdir()
        for start, language, lines, before in blocks(page):
            where, text = f"{page.name}:{start}", "\n".join(lines)
            n += 1
            if language in ("cpp", "cmake"):
                check_lines(lines, before, where)
            elif text.startswith("set Application"):
                file = of_page / f"{start}.prm"
                file.write_text(text + "\n", encoding="utf-8")
                application = re.match(r"set Application *= *(\w+)", text).group(1)
                run([build / "applications" / application, file, "--output", of_page / "blocks"])
            elif lines[0].startswith(("set ", "subsection ")):
                mistakes.extend(f"{where}: there is no entry {entry}" for entry in entries_of(text) if entry not in known)
            else:
                for line in lines:
                    if re.match(r"(\./patchfem|mpirun) ", line):
                        run_command(shlex.split(line, comments=True), where, of_page)
                    elif re.match(r"(cmake|ctest|python3|build/|bash|sh) ?", line):
                        mistakes.append(f"{where}: nothing runs this command: {line}")
    for mistake in mistakes:
        print(mistake)
    print(f"{n} blocks of pages, {len(mistakes)} mistakes")
    sys.exit(1 if mistakes or n == 0 else 0)


main()
