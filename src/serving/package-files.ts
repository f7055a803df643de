/** Finds the files that are installed with the package, such as the built pages. */

/** In a bundle that is CommonJS it has no value; then the package's files are not found. */
const own: string | undefined = import.meta.url
const here = own ?? "file:///bundle/dist/"

/**
 * A file or directory by its path below `src` or `dist`. This file, and a bundle that contains it, is one directory below. A host's bundler
 * takes an address of literal text and the module's own address for a file to copy, and fails at a directory; it does not follow a constant.
 */
export const packageFile = (path: string): URL => new URL(`../${path}`, here)
