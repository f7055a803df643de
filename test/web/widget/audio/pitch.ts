/**
 * The pitch of some samples of a steady tone in Hz, by their rising zero crossings; undefined of silence, of less than five periods, and of
 * samples with a gap. The crossings that a gap swallows would make the tone lower, and what is measured by it seconds later than it is.
 */
export const pitch = (samples: Float32Array, rate: number): number | undefined => {
  const rises: Array<number> = []
  for (let index = 1; index < samples.length; index++) {
    const [before, after] = [samples[index - 1] ?? 0, samples[index] ?? 0]
    if (before < 0 && after >= 0) rises.push(index - after / (after - before))
  }
  const [first, last] = [rises[0], rises.at(-1)]
  if (first === undefined || last === undefined || rises.length < 5) return undefined
  const mean = (last - first) / (rises.length - 1)
  const longest = Math.max(...rises.slice(1).map((rise, index) => rise - (rises[index] ?? 0)))
  return longest > MAX_PERIODS * mean ? undefined : rate / mean
}

/** The longest distance of two crossings, in periods: a cross-fade shifts one by less than this. */
const MAX_PERIODS = 1.5
