/**
 * The environment variables that settings are read from: those of the process, those of a file in the format of `.env`, and secrets in
 * files, which a variable `…__File` names, as container platforms mount them.
 */
import { resolve } from "node:path"
import { parseEnv } from "node:util"
import { Effect, FileSystem, type PlatformError, Result } from "effect"
import { type SettingProblem, SettingsInvalid } from "../problems.ts"
import { isGateVariable, isKnown } from "../showing/table.ts"
import { problemsOfEnvFile } from "./env-file.ts"
import { readableFile, readText } from "./text-file.ts"

/** Environment variables, and where those are from that the process was not started with. */
export interface Variables {
  readonly values: Readonly<Record<string, string | undefined>>
  /** by name, for messages: `in the file …` */
  readonly origins: ReadonlyMap<string, string>
}

export const variablesOf = (values: Variables["values"]): Variables => ({ values, origins: new Map() })

const unreadable = (file: string, cwd: string, error: PlatformError.PlatformError): SettingsInvalid =>
  new SettingsInvalid({ problems: [{ path: file, expected: readableFile(resolve(cwd, file), error) }] })

/** Adds the variables of a file in the format of `.env`; those of the process win. Returns the file's problems too. */
export const withEnvFile = Effect.fnUntraced(function* ({ origins, values }: Variables, file: string, cwd: string) {
  const read = yield* Effect.mapError(readText(resolve(cwd, file)), (error) => unreadable(file, cwd, error))
  if (Result.isFailure(read)) {
    return yield* new SettingsInvalid({ problems: [{ path: file, expected: read.failure }] })
  }
  const text = read.success
  const given = Object.entries(parseEnv(text)).filter(([name]) => values[name] === undefined)
  return {
    problems: problemsOfEnvFile(file, text),
    variables: {
      values: { ...Object.fromEntries(given), ...values },
      origins: new Map([...origins, ...given.map(([name]) => [name, `in ${file} as ${name}`] as const)]),
    },
  }
})

/** The largest file of a setting, in bytes. */
const MAX_FILE_BYTES = 1024 * 1024

/**
 * The text of a setting's file, or what was expected. A pipe or a device is not read: it may never end, and one without a writer would
 * keep the process from reading and from stopping.
 */
const readSetting = Effect.fnUntraced(
  function* (
    path: string,
  ): Effect.fn.Return<Result.Result<string, string>, PlatformError.PlatformError, FileSystem.FileSystem> {
    const fs = yield* FileSystem.FileSystem
    const { size, type } = yield* fs.stat(path)
    if (type === "Directory") return Result.fail("a file; it is a directory")
    if (type !== "File") return Result.fail("a regular file; pipes and devices are not read")
    if (size > MAX_FILE_BYTES) return Result.fail(`a file of at most ${MAX_FILE_BYTES} bytes; it is larger`)
    const text = (yield* fs.readFileString(path)).trim()
    return text === "" ? Result.fail("a file with a value; it is empty") : Result.succeed(text)
  },
  (reading, path) => Effect.catch(reading, (error) => Effect.succeed(Result.fail(readableFile(path, error)))),
)

const FILE = /__File$/i

/** The name of the variable whose value the file contains; undefined when this variable names no file of a setting. */
const nameWithoutFile = (name: string): string | undefined => {
  if (!FILE.test(name)) return undefined
  const setting = name.replace(FILE, "")
  const path = setting.split("__")
  if (!isGateVariable(path)) return undefined
  return isKnown(path.join(".")) ? setting : undefined
}

/** Replaces each `NAME__File` by `NAME` with the file's text. Reports every file that cannot be read, and every name that is set twice. */
export const withSecretFiles = Effect.fnUntraced(function* ({ origins, values }: Variables, cwd: string) {
  const problems: Array<SettingProblem> = []
  const read = new Map<string, string>()
  const from = new Map(origins)
  const left: Record<string, string | undefined> = { ...values }
  const names = new Set(Object.entries(values).flatMap(([name, text]) => (text?.trim() ? name.toLowerCase() : [])))
  for (const [variable, file] of Object.entries(values)) {
    const name = nameWithoutFile(variable)
    if (name === undefined || !file?.trim()) continue
    delete left[variable]
    const problem = (expected: string) => problems.push({ path: variable, expected })
    if (names.has(name.toLowerCase())) {
      problem(`either ${variable} or ${name}, and both are set`)
      continue
    }
    const text = yield* readSetting(resolve(cwd, file.trim()))
    if (Result.isFailure(text)) {
      problem(text.failure)
      continue
    }
    read.set(name, text.success)
    from.set(name, `in the file of ${variable}`)
  }
  if (problems.length > 0) return yield* new SettingsInvalid({ problems })
  return { values: { ...left, ...Object.fromEntries(read) }, origins: from }
})
