/** Compiles the rules' TypeScript to Lua declarations. */
import { join } from "node:path"
import ts from "typescript"
import * as tstl from "typescript-to-lua"
import { type Bundle, FLAT } from "./bundle.ts"
import { root, runner } from "./declared.ts"
import { type Declaration, rulePrinter } from "./printer.ts"

/** The declarations by name, each after those that it needs. */
export type Declarations = ReadonlyMap<string, Declaration>

export const compile = ({ lazy, text }: Bundle): Declarations => {
  const options: tstl.CompilerOptions = {
    target: ts.ScriptTarget.ESNext,
    lib: ["lib.esnext.d.ts"],
    types: [],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    rewriteRelativeImportExtensions: true,
    strict: true,
    luaTarget: tstl.LuaTarget.Lua51,
    luaLibImport: tstl.LuaLibImportKind.None,
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
  const program = ts.createProgram([extensions, join(runner, "redis/globals.d.ts"), FLAT], options, host)
  const flat = program.getSourceFile(FLAT)
  if (flat === undefined) throw new Error(`${FLAT} is missing`)
  const found: Array<Declaration> = []
  const { diagnostics } = new tstl.Transpiler().emit({
    program,
    sourceFiles: [flat],
    plugins: [rulePrinter(lazy, (each) => void found.push(...each))],
    writeFile: () => {},
  })
  const problems = [...ts.getPreEmitDiagnostics(program, flat), ...diagnostics]
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
  return new Map(found.map((each) => [each.name, each]))
}
