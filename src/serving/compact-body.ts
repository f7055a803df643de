/**
 * Bodies of requests in few pieces. Node makes an object of some 400 bytes for every chunk of a body, and keeps it until somebody reads
 * the body. A client that sends chunks of one byte would so take 400 bytes of memory for each, and no limit of a body's length counts them.
 *
 * A body's pieces are copied into blocks. What a request holds, read or not, is at most twice the bytes that it has sent. Nothing here
 * reads a body in parts, so it may arrive a block at a time.
 */
import { IncomingMessage } from "node:http"

/** Pieces are passed on together once they fill a block, and at the end of the body. */
export const BLOCK_BYTES: number = 16 * 1024
/** A first block, which most bodies do not fill. */
const SMALL_BLOCK_BYTES = 256
/** Maximum pieces of a body, besides one for each `BYTES_PER_PIECE`. A network's packets are larger, and so are chunks of programs. */
export const MAX_PIECES = 4_096
const BYTES_PER_PIECE = 64

const NOTHING = Buffer.alloc(0)

/** The code of the error of a connection whose request's body came in too many pieces. */
export const TOO_MANY_PIECES = "ERR_TOO_MANY_BODY_PIECES"

const tooManyPieces = (): Error =>
  Object.assign(new Error("A request's body was sent in too many small pieces."), { code: TOO_MANY_PIECES })

/** Ends a connection as node ends one whose bytes are no request: the server answers 400 if it has not begun to answer. */
const refuse = (request: IncomingMessage): void => {
  const { socket } = request
  if (socket.destroyed) return
  const error = tooManyPieces()
  // in memory, and at a host's server that has replaced node's handler, nobody listens
  if (socket.listenerCount("error") > 0) socket.emit("error", error)
  if (!socket.destroyed) socket.destroy(error)
}

type Push = (chunk: Uint8Array | null) => boolean

/** The pieces of one body that have not filled a block. */
class Block {
  private bytes: Buffer = NOTHING
  private used = 0
  private pieces = 0
  private received = 0
  private refused = false

  /** Takes what node or a stream pushes; passes on full blocks, and the rest at the end. Returns whether more is wanted. */
  take(request: IncomingMessage, piece: Uint8Array | null, push: Push): boolean {
    if (this.refused) return false
    if (piece === null) {
      if (this.used > 0) push(this.bytes.subarray(0, this.used))
      this.clear()
      return push(null)
    }
    this.pieces++
    this.received += piece.length
    if (this.pieces > MAX_PIECES + this.received / BYTES_PER_PIECE) {
      this.refused = true
      this.clear()
      refuse(request)
      return false
    }
    return this.add(piece, push)
  }

  private add(piece: Uint8Array, push: Push): boolean {
    let more = true
    let rest = piece
    while (rest.length > 0) {
      if (this.used === 0 && rest.length >= BLOCK_BYTES) return push(rest)
      if (this.used === 0 && this.pieces === 1) {
        // nearly every body is one piece, and is not copied
        this.bytes = Buffer.from(rest.buffer, rest.byteOffset, rest.length)
        this.used = rest.length
        return more
      }
      const fits = Math.min(rest.length, BLOCK_BYTES - this.used)
      this.reserve(this.used + fits)
      this.bytes.set(rest.subarray(0, fits), this.used)
      this.used += fits
      rest = rest.subarray(fits)
      if (this.used < BLOCK_BYTES) continue
      more = push(this.bytes)
      this.clear()
    }
    return more
  }

  /** Never writes into the first piece, which is as long as what is used of it. */
  private reserve(length: number): void {
    if (length <= this.bytes.length) return
    const grown = Buffer.allocUnsafeSlow(Math.min(BLOCK_BYTES, Math.max(2 * this.used, length, SMALL_BLOCK_BYTES)))
    grown.set(this.bytes.subarray(0, this.used))
    this.bytes = grown
  }

  private clear(): void {
    this.bytes = NOTHING
    this.used = 0
  }
}

/** A request of the servers here. */
export class CompactRequest extends IncomingMessage {
  private block: Block | undefined = undefined

  override push(chunk: Uint8Array | null): boolean {
    if (chunk === null && this.block === undefined) return super.push(null)
    this.block ??= new Block()
    return this.block.take(this, chunk, (bytes) => super.push(bytes))
  }
}

const mayHaveBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0"

/** Keeps the body of a request of a host's server in few pieces, from now on. */
export const compactBody = (request: IncomingMessage): void => {
  if (request instanceof CompactRequest || request.complete || !mayHaveBody(request)) return
  const block = new Block()
  const push = request.push.bind(request)
  request.push = (chunk: Uint8Array | null): boolean => block.take(request, chunk, push)
}

/**
 * Discards what nobody has read of a body, also what still arrives. Node does so only when the answer is sent, and the answer of a pipelined
 * request waits for those before it.
 */
export const drainBody = (request: IncomingMessage): void => {
  if (!request.readableEnded && !request.destroyed) request.resume()
}
