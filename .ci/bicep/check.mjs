// check.mjs FILE...: parse files of Bicep, and print where they are no Bicep. Exits with 1 if any is not.
import {readFileSync} from "node:fs"
import {createRequire} from "node:module"
import {Language, Parser} from "web-tree-sitter"

const files = process.argv.slice(2)
if (files.length === 0) {
	throw new Error("name files to check")
}
await Parser.init()
const parser = new Parser()
parser.setLanguage(await Language.load(createRequire(import.meta.url).resolve("tree-sitter-bicep/tree-sitter-bicep.wasm")))

// wrong returns the nodes that the parser had to skip or to make up.
function* wrong(node) {
	if (node.isError || node.isMissing) {
		yield node
	}
	for (const child of node.children) {
		yield* wrong(child)
	}
}

for (const file of files) {
	const tree = parser.parse(readFileSync(file, "utf8"))
	for (const node of wrong(tree.rootNode)) {
		const {row, column} = node.startPosition
		console.error(`${file}:${row + 1}:${column + 1}: ${node.isMissing ? `missing ${node.type}` : node.text.slice(0, 60)}`)
		process.exitCode = 1
	}
	if (tree.rootNode.namedChildCount === 0) {
		console.error(`${file}: it has no declaration`)
		process.exitCode = 1
	}
}
