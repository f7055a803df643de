/** nginx for tests that need a real proxy. It keeps its files in its own directory below the system's temporary one. */
import { execFile } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { type Child, start } from "./process.ts"

export interface Nginx extends Pick<Child, "output" | "pid"> {
  readonly directory: string
  /** kills it and removes its files */
  readonly dispose: () => Promise<void>
}

const TEMPORARY = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]

/**
 * Starts nginx as one process, in the foreground: a worker would outlive a master that is killed, and hold its port.
 *
 * @param http what stands in the block `http`, for a directory that it may write to
 */
export const startNginx = async (http: (directory: string) => string): Promise<Nginx> => {
  const directory = await mkdtemp(join(tmpdir(), "voicegate-nginx-"))
  const removed = () => rm(directory, { recursive: true, force: true })
  try {
    const file = join(directory, "nginx.conf")
    const paths = TEMPORARY.map((name) => `${name}_temp_path ${directory};`).join("\n")
    await writeFile(
      file,
      `daemon off;\nmaster_process off;\npid ${directory}/pid;\nevents {}\nhttp {\naccess_log off;\n${paths}\n${http(directory)}\n}\n`,
    )
    // says what it does not accept
    await promisify(execFile)("nginx", ["-t", "-c", file, "-e", "stderr"])
    const nginx = await start("nginx", ["-c", file, "-e", "stderr"], directory)
    return {
      pid: nginx.pid,
      output: nginx.output,
      directory,
      dispose: async () => {
        await nginx.stop()
        await removed()
      },
    }
  } catch (error) {
    await removed()
    throw error
  }
}
