# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""pipelines.pyi: what editors and type checkers know of sluice.pipelines; and help()."""

import ast
import inspect
import os
import pathlib
import pydoc
import shutil
import subprocess
import sys
import unittest

import sluice
from sluice import _hints

RIGHT = """
import sluice
report = sluice.pipelines.methylation(signal="r.blow5", reads=["a.fq", "b.fq"], alignments="r.bam", reference="ref.fa", output="c.tsv", min_mapq=3, threads=2)
print(report.seconds + 1.0, report.outputs[0].upper())
for batch in sluice.stream("map", stage="hits", reads="a.fq", reference="ref.fa"):
    print(len(batch))
@sluice.stage(needs={"bases": "utf8"}, gives={"n": "i32"})
def length(batch: sluice.Rows, least: int = 1) -> list[int]:
    return [len(bases) for bases in batch["bases"].to_pylist()]
sluice.Pipeline("p").stage("own", use=length, least=3).run()
sluice.merge(["a", "b"], "c")
"""
WRONG = {
    "sluice.pipelines.methylation(output='c.tsv')": "Missing named argument",
    "sluice.pipelines.map(reads='a', reference='b', output='c', threads='two')": 'incompatible type "str"',
    "sluice.pipelines.map(reads='a', refrence='b', output='c')": 'Unexpected keyword argument "refrence"',
    "sluice.pipelines.mapp()": 'has no attribute "mapp"',
    "sluice.run('map').seconds + ''": "Unsupported operand",
}


class Hints(unittest.TestCase):
    maxDiff = None

    def test_every_pipeline_has_its_signature(self):
        functions = {node.name: node for node in ast.parse(_hints.hints()).body if isinstance(node, ast.FunctionDef)}
        self.assertEqual(sorted(functions), dir(sluice.pipelines))
        for name, node in functions.items():
            signature = inspect.signature(getattr(sluice.pipelines, name))
            there = {argument.arg: default for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults)}
            for parameter in signature.parameters.values():
                if parameter.name == "options":
                    continue
                default = there[parameter.name]
                self.assertEqual(default is None, parameter.default is inspect.Parameter.empty, (name, parameter.name))
                if default is not None:
                    self.assertEqual(ast.literal_eval(default), parameter.default, (name, parameter.name))
            self.assertEqual(ast.get_docstring(node), inspect.getdoc(getattr(sluice.pipelines, name)), name)

    def test_help(self):
        said = pydoc.plain(pydoc.render_doc(sluice.pipelines.methylation))
        for words in ("methylation(*, ", "min_mapq: int = 20", "raw signal: BLOW5", "Stages, for sluice.stream(): "):
            self.assertIn(words, said)

    def test_a_type_checker_finds_mistakes(self):
        if subprocess.run([sys.executable, "-c", "import mypy"], capture_output=True).returncode != 0:
            self.skipTest("mypy is not here")
        shutil.copytree(pathlib.Path(sluice.__file__).parent, "typed/sluice", ignore=shutil.ignore_patterns("__pycache__"))
        pathlib.Path("typed/sluice/pipelines.pyi").write_text(_hints.hints())
        pathlib.Path("typed/right.py").write_text(RIGHT)
        pathlib.Path("typed/wrong.py").write_text("import sluice\n" + "\n".join(WRONG))
        command = [sys.executable, "-m", "mypy", "--no-error-summary", "--follow-imports=silent", "--python-version", "3.10"]
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        right = subprocess.run([*command, "right.py"], cwd="typed", capture_output=True, text=True, env=environment)
        self.assertEqual((right.stdout, right.returncode), ("", 0), right.stderr)
        wrong = subprocess.run([*command, "wrong.py"], cwd="typed", capture_output=True, text=True, env=environment).stdout
        for number, (code, words) in enumerate(WRONG.items(), 2):
            self.assertRegex(wrong, rf"wrong\.py:{number}: error: .*({words})", code)


if __name__ == "__main__":
    unittest.main()
