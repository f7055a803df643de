/** What an AudioWorklet's global scope has beyond the page's; TypeScript's DOM library leaves it out. */

declare const sampleRate: number

declare abstract class AudioWorkletProcessor {
  readonly port: MessagePort
  /** Called for each block of 128 samples; false ends the processor. */
  abstract process(inputs: ReadonlyArray<ReadonlyArray<Float32Array>>, outputs: Array<Array<Float32Array>>): boolean
}

declare function registerProcessor<Options>(
  name: string,
  processor: new (options: Options) => AudioWorkletProcessor,
): void

/** The built `worklet.ts` as text: vite.config.ts makes it. */
declare module "virtual:worklet" {
  const code: string
  export default code
}
