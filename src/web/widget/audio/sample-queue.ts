/** A queue of samples in one piece of memory, so that a part of it can be looked at without copying. */

const INITIAL_CAPACITY = 16_384

export class SampleQueue {
  private samples = new Float32Array(INITIAL_CAPACITY)
  private start = 0
  private end = 0

  get length(): number {
    return this.end - this.start
  }

  push(block: Float32Array): void {
    if (this.end + block.length > this.samples.length) this.makeRoom(block.length)
    this.samples.set(block, this.end)
    this.end += block.length
  }

  /** The first samples, at most `count`. Valid until the next `push`. */
  first(count: number): Float32Array {
    return this.samples.subarray(this.start, Math.min(this.end, this.start + count))
  }

  drop(count: number): void {
    this.start = Math.min(this.end, this.start + count)
  }

  private makeRoom(wanted: number): void {
    const needed = this.length + wanted
    const kept = this.first(this.length)
    // A small content is moved to the front; a large one gets twice the memory, and an emptied one gives it back.
    const capacity = Math.max(INITIAL_CAPACITY, 2 ** Math.ceil(Math.log2(2 * needed)))
    const target = capacity === this.samples.length ? this.samples : new Float32Array(capacity)
    target.set(kept)
    this.samples = target
    this.end = kept.length
    this.start = 0
  }
}
