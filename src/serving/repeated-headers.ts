/** Headers that a request may have once. Node keeps the first of them in silence, so the raw list tells. */

/** @param rawHeaders names and values in turn, as Node lists them */
export const timesSent = (rawHeaders: ReadonlyArray<string>, name: string): number => {
  let times = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.length === name.length && rawHeaders[at]?.toLowerCase() === name) times++
  }
  return times
}
