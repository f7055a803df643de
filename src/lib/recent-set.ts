/**
 * Remembers the keys that were used last: at least `size`, and at most twice as many. There are two sets, of which the older one is dropped
 * whole; so a new key moves no other, as it would in an LRU cache.
 */
export class RecentSet {
  private readonly size: number
  private newer = new Set<string>()
  private older = new Set<string>()

  constructor(size: number) {
    this.size = size
  }

  has(key: string): boolean {
    return this.newer.has(key) || this.older.has(key)
  }

  /** The same as `has`, and counts as a use. */
  use(key: string): boolean {
    if (this.newer.has(key)) return true
    if (!this.older.has(key)) return false
    this.add(key)
    return true
  }

  add(key: string): void {
    this.newer.add(key)
    if (this.newer.size <= this.size) return
    this.older = this.newer
    this.newer = new Set([key])
  }

  delete(key: string): void {
    this.newer.delete(key)
    this.older.delete(key)
  }
}
