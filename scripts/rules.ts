/**
 * Compiles the rules (the folders `rules` of `src`) to the Lua that Redis runs, `src/store/rules/lua.generated.ts`:
 *
 *     node scripts/rules.ts            writes it
 *     node scripts/rules.ts --check    ends with 1 when it is stale
 *
 * The rules are those that `src` declares with `ruleOf`. Their files are joined into one, without imports and exports, and with
 * `redis/native.ts` in place of `native.ts`. typescript-to-lua compiles it once. The text of each rule contains only the declarations
 * that it needs, nested as `rules/nesting.ts` says, because Redis runs the whole text with every call.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import ts from "typescript"
import * as tstl from "typescript-to-lua"
import { declaredRules, parsed, root, runner } from "./rules/declared.ts"
import { type Declarations, type Nested, nest } from "./rules/nesting.ts"
import { rulePrinter } from "./rules/printer.ts"

const output = join(runner, "lua.generated.ts")
const globals = join(runner, "redis/globals.d.ts")
const FLAT = join(runner, "flat.ts")
const WORD = /[A-Za-z_]\w*/g

/** The file that is imported, in the version for Redis. */
const imported = (from: string, specifier: string): string => {
  const file = resolve(dirname(from), specifier)
  return file === join(runner, "native.ts") ? join(runner, "redis/native.ts") : file
}

/** All files of a program, each after those that it imports. */
const inOrder = (entries: ReadonlyArray<string>): ReadonlyArray<ts.SourceFile> => {
  const found = new Map<string, ts.SourceFile>()
  const under = new Set<string>()
  const visit = (file: string): void => {
    if (found.has(file)) return
    if (under.has(file)) throw new Error(`${relative(root, file)} is in a circle of imports`)
    under.add(file)
    const source = parsed(file)
    for (const statement of source.statements) {
      if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier)) continue
      if (statement.importClause?.phaseModifier !== ts.SyntaxKind.TypeKeyword)
        visit(imported(file, statement.moduleSpecifier.text))
      else types.add(imported(file, statement.moduleSpecifier.text))
    }
    under.delete(file)
    found.set(file, source)
  }
  const types = new Set<string>()
  for (const entry of entries) visit(entry)
  for (const file of types) visit(file)
  return [...found.values()]
}

/** Fails when two files declare the same name: they are compiled as one. */
const checkNames = (sources: ReadonlyArray<ts.SourceFile>): void => {
  const files = new Map<string, string>()
  for (const source of sources) {
    const file = relative(root, source.fileName)
    for (const statement of source.statements) {
      const declared = ts.isVariableStatement(statement) ? statement.declarationList.declarations : [statement]
      for (const each of declared) {
        if (!ts.isVariableDeclaration(each) && !ts.isFunctionDeclaration(each)) continue
        const name = each.name?.getText(source) ?? ""
        const other = files.get(name)
        if (other !== undefined) throw new Error(`${name} is declared in ${other} and in ${file}: rename one`)
        files.set(name, file)
      }
    }
  }
}

/** The functions whose comment has the tag `@lazy`. */
const lazyIn = (sources: ReadonlyArray<ts.SourceFile>): ReadonlySet<string> => {
  const lazy = sources.flatMap((source) =>
    source.statements
      .filter((statement) => ts.getJSDocTags(statement).some(({ tagName }) => tagName.text === "lazy"))
      .map((statement) => {
        const [declared] = ts.isVariableStatement(statement) ? statement.declarationList.declarations : []
        if (declared?.initializer === undefined || !ts.isArrowFunction(declared.initializer)) {
          throw new Error(
            `${relative(root, source.fileName)}: only a function can be @lazy: ${statement.getText(source)}`,
          )
        }
        return declared.name.getText(source)
      }),
  )
  return new Set(lazy)
}

/** The text of a file without imports and `export`. */
const flatten = (source: ts.SourceFile): string =>
  source.statements
    .filter((statement) => !ts.isImportDeclaration(statement))
    .map((statement) => statement.getText(source).replace(/^export (?!\{)/, ""))
    .join("\n")

const compile = (text: string): string => {
  const lua = new Map<string, string>()
  const options: tstl.CompilerOptions = {
    target: ts.ScriptTarget.ESNext,
    lib: ["lib.esnext.d.ts"],
    types: [],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    strict: true,
    luaTarget: tstl.LuaTarget.Lua51,
    luaLibImport: tstl.LuaLibImportKind.Inline,
    noImplicitSelf: true,
    noHeader: true,
    skipLibCheck: true,
  }
  const host = ts.createCompilerHost(options)
  const { fileExists, getSourceFile, readFile } = host
  host.fileExists = (file) => file === FLAT || fileExists(file)
  host.readFile = (file) => (file === FLAT ? text : readFile(file))
  host.getSourceFile = (file, ...rest) =>
    file === FLAT ? ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true) : getSourceFile(file, ...rest)
  const extensions = join(root, "node_modules/@typescript-to-lua/language-extensions/index.d.ts")
  const program = ts.createProgram([extensions, globals, FLAT], options, host)
  const problems = [...ts.getPreEmitDiagnostics(program)]
  const { diagnostics } = new tstl.Transpiler().emit({
    program,
    plugins: [rulePrinter],
    writeFile: (file, written) => void lua.set(file, written),
  })
  problems.push(...diagnostics)
  if (problems.length > 0) {
    console.error(
      ts.formatDiagnostics(problems, {
        getCanonicalFileName: (f) => f,
        getCurrentDirectory: () => root,
        getNewLine: () => "\n",
      }),
    )
    process.exit(1)
  }
  const [written = ""] = [...lua].filter(([file]) => file.endsWith("flat.lua")).map(([, each]) => each)
  return written
}

const DECLARATION = /^(?:local )?(?:function )?([A-Za-z_]\w*)/

/** The declarations of a Lua text by their names, in order. */
const declarations = (lua: string): Declarations => {
  const found = new Map<string, string>()
  let name = ""
  for (const line of lua.split("\n")) {
    if (line.startsWith("--") || line === "") continue
    const begins = /^(?:local|function) /.test(line)
    if (begins) {
      name = (DECLARATION.exec(line.replace(/^local function /, "function ")) ?? [])[1] ?? ""
      if (/^local [\w, ]+$/.test(line)) throw new Error(`${line.slice(6)} is used above its declaration`)
      if (found.has(name)) throw new Error(`two declarations are named ${name}`)
      found.set(name, line)
    } else found.set(name, `${found.get(name)}\n${line}`)
  }
  return found
}

/** A Lua text without what looks like a name and is none: texts, fields, and what is assigned. */
const onlyNames = (lua: string): string =>
  lua
    .replace(/"(?:[^"\\]|\\.)*"/g, '""')
    .replace(/(?<!\.)\.[A-Za-z_]\w*/g, ".")
    .replace(/\b[A-Za-z_]\w* = /g, "= ")

/** The declarations that a text uses. A local variable that is named like one counts as a use, so give it another name. */
const usedIn = (all: Declarations, text: string): ReadonlySet<string> =>
  new Set([...onlyNames(text).matchAll(WORD)].map(([name]) => name).filter((name) => all.has(name)))

/** A declaration by its number, with those inside of it if there are any. */
type Tree = number | readonly [host: number, inside: ReadonlyArray<Tree>]

const generated = (): string => {
  const declared = declaredRules()
  const files = new Set(declared.flatMap((rule) => rule.files))
  const sources = inOrder([join(runner, "redis/commands.ts"), ...files])
  checkNames(sources)
  const lazy = lazyIn(sources)
  const text = sources.map(flatten).join("\n")
  // a command of the store is a function of its own
  const lua = compile(`${text}\nexport {}\n`).replace(/\b(?:\w+\.)*db:(\w+)\(/g, "$1(")
  const all = declarations(lua.replace(/^local ____exports = \{\}\n/, "").replace(/\nreturn ____exports\n*$/, "\n"))
  const uses = new Map([...all].map(([name, text]) => [name, usedIn(all, text)]))
  const usedBy = (name: string): ReadonlySet<string> => uses.get(name) ?? new Set()
  const numbers = new Map<string, number>()
  const numberOf = (name: string): number => {
    const number = numbers.get(name) ?? numbers.size
    numbers.set(name, number)
    return number
  }
  const numbered = ({ inside, name }: Nested): Tree =>
    inside.length === 0 ? numberOf(name) : [numberOf(name), inside.map(numbered)]
  const perRule = declared.map(({ expires, expression, name, texts }) => {
    const tree = nest(all, usedBy, usedIn(all, `${expression} encode numberOf`), lazy)
    return { name, expression, expires, texts, tree: tree.map(numbered) }
  })
  return `/** Generated by \`node scripts/rules.ts\` from the rules. */
// biome-ignore-all lint: generated
// biome-ignore-all format: generated

const declarations: ReadonlyArray<string> = [
${[...numbers.keys()].map((name) => `  ${JSON.stringify(all.get(name))},`).join("\n")}
]

/** A declaration by its number, with those inside of it if there are any: its first call creates them and replaces it. */
type Tree = number | readonly [host: number, inside: ReadonlyArray<Tree>]

const declaration = (each: Tree): string => {
  if (typeof each === "number") return declarations[each] ?? ""
  const [host, inside] = each
  const [, name, rest] = /^local function (\\w+)([^]*)$/.exec(declarations[host] ?? "") ?? []
  return \`local function \${name}(...)
\${inside.map(declaration).join("\\n")}
\${name} = function\${rest}
return \${name}(...)
end\`
}

/** The Lua that reads the calls. A single call may also be in one piece, with its texts in the JSON. */
const reading = (texts: ReadonlyArray<string>): string => \`if #ARGV > 3 and (#ARGV - 2) % \${texts.length + 1} ~= 0 then
  error("voicegate: each call has \${texts.length + 1} arguments, its JSON and its texts")
end
local calls = {}
for i = 3, #ARGV, \${texts.length + 1} do
  local call = ARGV[i] ~= "{}" and cjson.decode(ARGV[i]) or {}
\${texts.map((field, n) => \`  call.\${field} = ARGV[i + \${n + 1}] or call.\${field}\`).join("\\n")}
  calls[#calls + 1] = call
end\`

/** Ends a rule with \`expires\` that arrives after its deadline, before it does anything. */
const expiry = \`local now, deadline = string.match(ARGV[1], "^(%S*) ?(.*)$")
if deadline ~= "" then
  local time = redis.call("TIME")
  if time[1] * 1000 + math.floor(time[2] / 1000) > tonumber(deadline) then
    return redis.error_reply("EXPIRED the command arrived after its deadline")
  end
end\`

const text = (
  name: string,
  run: string,
  expires: boolean,
  texts: ReadonlyArray<string>,
  needs: ReadonlyArray<Tree>,
): string => \`-- voicegate \${name}
\${expires ? \`\${expiry}\n\` : ""}\${needs.map(declaration).join("\\n")}
\${reading(texts)}
return encode(\${run}(nil, KEYS, numberOf(\${expires ? "now" : "ARGV[1]"}), cjson.decode(ARGV[2]), calls))
\`

/** The Lua text of each rule, with the arguments that \`Rule.lua\` in \`src/store/Store.ts\` describes. */
export const lua = {
${perRule.map(({ expires, expression, name, texts, tree }) => `  ${JSON.stringify(name)}: text(${[name, expression, expires, texts, tree].map((each) => JSON.stringify(each)).join(", ")}),`).join("\n")}
} as const
`
}

const made = generated()
if (!process.argv.includes("--check")) {
  writeFileSync(output, made)
} else if (!existsSync(output) || readFileSync(output, "utf8") !== made) {
  console.error("src/store/rules/lua.generated.ts is stale: run `node scripts/rules.ts` and commit what it writes.")
  process.exit(1)
}
