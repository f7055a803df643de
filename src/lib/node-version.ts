/**
 * Imported first, so that an old Node says in one sentence what is missing. An old Node must be able to parse everything that is loaded
 * before this runs.
 */
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
if (major < 22 || (major === 22 && minor < 19))
  throw new Error(`voicegate needs Node 22.19 or newer; this is Node ${process.versions.node}.`)

export {}
