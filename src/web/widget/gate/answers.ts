/** Whether an address answers a request in time. */

/** How long an answer may take, in milliseconds. */
const ANSWER_WITHIN = 2_000

/** Whether a request is answered with anything; in the mode `no-cors` also with what this page may not read. */
export const answers = (address: URL | string, request: RequestInit): Promise<boolean> =>
  fetch(address, { cache: "no-store", signal: AbortSignal.timeout(ANSWER_WITHIN), ...request }).then(
    () => true,
    () => false,
  )

/** Whether a file of the gate can be reached, which the gate serves to any page. */
export const reaches = (file: URL | string): Promise<boolean> => answers(file, { method: "HEAD", mode: "no-cors" })
