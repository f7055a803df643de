/** Reads a file of settings as text, or says why it is none. */
import { Effect, FileSystem, type PlatformError, Result } from "effect"

const UTF16 = /^(?:\xff\xfe|\xfe\xff|[^\0]\0|\0[^\0])/

const decode = (bytes: Uint8Array): Result.Result<string, string> => {
  if (UTF16.test(Buffer.from(bytes.subarray(0, 2)).toString("latin1"))) {
    return Result.fail("a file in UTF-8; it is in UTF-16, as PowerShell's > writes it: save it as UTF-8")
  }
  try {
    // it also removes a byte order mark
    return Result.succeed(new TextDecoder("utf-8", { fatal: true }).decode(bytes))
  } catch {
    return Result.fail("a file in UTF-8; it is in another encoding")
  }
}

/** What was expected of a file that cannot be read; `path` is absolute. */
export const readableFile = (path: string, { reason }: PlatformError.PlatformError): string => {
  switch (reason._tag) {
    case "NotFound":
      return `a file that can be read; there is none at ${path}`
    case "PermissionDenied":
      return `a file that can be read; this user may not read ${path}`
    default:
      return `a file that can be read; ${path} is none (${reason._tag})`
  }
}

/** The text of a file, or what was expected instead of what it is. Fails when it cannot be read. */
export const readText = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  return decode(yield* fs.readFile(path))
})
