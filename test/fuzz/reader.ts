/** Reads the answers of one connection, whose requests may have been pipelined. */

export interface Response {
  readonly status: number
  /** the status line and the headers, in lower case */
  readonly head: string
  readonly body: Buffer
}

const CHUNK_SIZE = /^([0-9a-f]+)[^\r\n]*$/i

/** The body of chunks at the start of `text`; undefined while it is not complete. */
const readChunks = (bytes: Buffer): { readonly body: Buffer; readonly end: number } | undefined => {
  const chunks: Array<Buffer> = []
  for (let at = 0; ; ) {
    const line = bytes.indexOf("\r\n", at)
    if (line < 0) return undefined
    const size = Number.parseInt(CHUNK_SIZE.exec(bytes.toString("latin1", at, line))?.[1] ?? "", 16)
    if (Number.isNaN(size)) throw new Error("the answer's chunks are broken")
    const from = line + 2
    if (bytes.length < from + size + 2) return undefined
    if (size === 0) return { body: Buffer.concat(chunks), end: from + 2 }
    chunks.push(bytes.subarray(from, from + size))
    at = from + size + 2
  }
}

const STATUS = /^http\/1\.1 (\d{3}) /
const FRAMED = /\r\n(content-length|transfer-encoding):/
const LENGTH = /\r\ncontent-length: (\d+)/

export class Reader {
  private bytes: Buffer = Buffer.alloc(0)
  private answered = 0
  /** whether the n-th request was a HEAD, whose answer has no body */
  private readonly isHead: (n: number) => boolean
  /** set by a 101: what follows is no HTTP */
  upgraded = false

  constructor(isHead: (n: number) => boolean) {
    this.isHead = isHead
  }

  /** Takes what arrived, and answers what is complete by it. */
  feed(chunk: Buffer): ReadonlyArray<Response> {
    if (this.upgraded) return []
    this.bytes = this.bytes.length === 0 ? chunk : Buffer.concat([this.bytes, chunk])
    const responses: Array<Response> = []
    for (;;) {
      const end = this.bytes.indexOf("\r\n\r\n")
      if (end < 0) return responses
      const head = this.bytes.toString("latin1", 0, end).toLowerCase()
      const status = Number(STATUS.exec(head)?.[1] ?? Number.NaN)
      if (Number.isNaN(status)) throw new Error(`no status line: ${head.slice(0, 80)}`)
      const rest = this.bytes.subarray(end + 4)
      if (status === 100) {
        this.bytes = rest
        continue
      }
      const bodyless = status === 101 || status === 204 || status === 304 || this.isHead(this.answered)
      // node's own refusals have neither length nor body
      const bare = status >= 400 && head.includes("\r\nconnection: close") && !FRAMED.test(head)
      const length = bodyless || bare ? 0 : Number(LENGTH.exec(head)?.[1] ?? Number.NaN)
      if (Number.isNaN(length)) {
        if (!head.includes("\r\ntransfer-encoding: chunked")) return responses
        const chunked = readChunks(rest)
        if (chunked === undefined) return responses
        this.bytes = rest.subarray(chunked.end)
        this.answered++
        responses.push({ status, head, body: chunked.body })
        continue
      }
      if (rest.length < length) return responses
      this.bytes = rest.subarray(length)
      this.answered++
      responses.push({ status, head, body: rest.subarray(0, length) })
      if (status === 101) {
        this.upgraded = true
        return responses
      }
    }
  }
}
