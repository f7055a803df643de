/**
 * A bounded LRU cache whose memory grows with its contents. `lru-cache` with `max` allocates arrays of that length up front:
 * ten caches of 10,000 entries add 30 ms and 3 MB to the start.
 */
import { LRUCache } from "lru-cache"

/** @param maxEntries beyond this number the least recently used entry is removed */
export const boundedCache = <V extends {}>(maxEntries: number): LRUCache<string, V> =>
  new LRUCache({ maxSize: maxEntries, sizeCalculation: () => 1 })
