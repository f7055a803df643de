/** A newcomer as the rules of the queue take it. */

import { jsonOf } from "../store/json.ts"
import type { Newcomer } from "./FifoQueue.ts"
import type { Newcomer as NewcomerCall, Origin } from "./rules/admit.ts"

export const newcomerCall = ({ caller, data, holds, id, network, trace }: Newcomer): NewcomerCall => {
  const origin: Origin = {
    caller: caller === "" ? undefined : caller,
    holds: caller !== "" && holds ? true : undefined,
    network: network === "" ? undefined : network,
    trace,
  }
  const json = jsonOf(origin)
  return { id, network, origin: json === "{}" ? "}" : `,${json.slice(1)}`, data }
}
