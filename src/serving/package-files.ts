/** Finds the files that are installed with the package, such as the built pages. */
import { createRequire } from "node:module"

/** In a CommonJS bundle `import.meta.url` is undefined; then the package's files are not found. */
const own: string | undefined = import.meta.url
const here = own ?? "file:///bundle/dist/"

/**
 * A file or directory by its path below `src` or `dist`. This file, and a bundle that contains it, is one directory below. A host's bundler
 * takes `new URL` of a literal and `import.meta.url` for a file to copy, and fails at a directory; it does not follow a constant.
 */
export const packageFile = (path: string): URL => new URL(`../${path}`, here)

export const packageVersion = (): string => {
  const { version }: { version: string } = createRequire(packageFile("package-files"))("../package.json")
  return version
}
