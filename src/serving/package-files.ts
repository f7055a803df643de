/** Finds the files that are installed with the package, such as the built pages. */

const here = import.meta.url

/**
 * A file or directory by its path below `src` or `dist`. This file, and a bundle that contains it, is one directory below. The address is
 * not written as `new URL("…", import.meta.url)`, because a host's bundler takes that for a file to copy and fails at a directory.
 */
export const packageFile = (path: string): URL => new URL(`../${path}`, here)
