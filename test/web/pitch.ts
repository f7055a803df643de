/** The pitch of some samples in Hz, by their rising zero crossings; undefined of silence or of less than five periods. */
export const pitch = (samples: Float32Array, rate: number): number | undefined => {
  const rises: Array<number> = []
  for (let index = 1; index < samples.length; index++) {
    const [before, after] = [samples[index - 1] ?? 0, samples[index] ?? 0]
    if (before < 0 && after >= 0) rises.push(index - after / (after - before))
  }
  const [first, last] = [rises[0], rises.at(-1)]
  if (first === undefined || last === undefined || rises.length < 5) return undefined
  return ((rises.length - 1) * rate) / (last - first)
}
