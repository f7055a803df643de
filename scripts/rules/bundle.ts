/**
 * Joins the files of all rules into one TypeScript text, each after those that it imports, without imports and exports, and with
 * `redis/native.ts` in place of `native.ts`. Types that rules import from other files stay imports: they are gone before there is Lua.
 */
import { dirname, join, relative, resolve } from "node:path"
import ts from "typescript"
import { holdsRules, parsed, root, runner } from "./declared.ts"

/** Where the joined text stands, for its imports of types. */
export const FLAT = join(runner, "flat.ts")

export interface Bundle {
  readonly text: string
  /** the functions whose comment has the tag `@lazy` */
  readonly lazy: ReadonlySet<string>
}

/** The file that is imported, in the version for Redis. */
const imported = (from: string, specifier: string): string => {
  const file = resolve(dirname(from), specifier)
  return file === join(runner, "native.ts") ? join(runner, "redis/native.ts") : file
}

/** The rule files of a program, each after those that it imports, and the types that they import from other files. */
const filesOf = (entries: ReadonlyArray<string>) => {
  const found = new Map<string, ts.SourceFile>()
  const under = new Set<string>()
  const typeFiles = new Set<string>()
  const types = new Map<string, Set<string>>()
  const visit = (file: string): void => {
    if (found.has(file)) return
    if (under.has(file)) throw new Error(`${relative(root, file)} is in a circle of imports`)
    under.add(file)
    const source = parsed(file)
    for (const statement of source.statements) {
      if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier)) continue
      const other = imported(file, statement.moduleSpecifier.text)
      const clause = statement.importClause
      if (clause?.phaseModifier !== ts.SyntaxKind.TypeKeyword) visit(other)
      else if (holdsRules(other)) typeFiles.add(other)
      else {
        const names = types.get(other) ?? new Set()
        types.set(other, names)
        if (clause.namedBindings === undefined || !ts.isNamedImports(clause.namedBindings)) continue
        for (const each of clause.namedBindings.elements) names.add(each.name.text)
      }
    }
    under.delete(file)
    found.set(file, source)
  }
  for (const entry of entries) visit(entry)
  for (const file of typeFiles) visit(file)
  return { sources: [...found.values()], types }
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

const lazyIn = (source: ts.SourceFile): ReadonlyArray<string> =>
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
    })

/** The text of a file without imports and `export`. */
const flatten = (source: ts.SourceFile): string =>
  source.statements
    .filter((statement) => !ts.isImportDeclaration(statement))
    .map((statement) => statement.getText(source).replace(/^export (?!\{)/, ""))
    .join("\n")

/** @param entries the files of the rules */
export const bundle = (entries: ReadonlyArray<string>): Bundle => {
  const { sources, types } = filesOf(entries)
  checkNames(sources)
  const imports = [...types].map(
    ([file, names]) => `import type { ${[...names].join(", ")} } from ${JSON.stringify(`./${relative(runner, file)}`)}`,
  )
  return {
    text: [...imports, ...sources.map(flatten), "export {}\n"].join("\n"),
    lazy: new Set(sources.flatMap(lazyIn)),
  }
}
