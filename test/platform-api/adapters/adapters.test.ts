/** Every platform keeps the contract. */
import type { ContractFacts } from "../../../src/platform-api/contract.ts"
import { PLATFORMS } from "../../../src/platform-api/vendors.ts"
import { adapterContract } from "./contract.ts"

for (const platform of PLATFORMS) {
  const { contracts }: { readonly contracts: ReadonlyArray<ContractFacts> } = await import(
    `../../../src/platform-api/${platform}/contract.ts`
  )
  for (const facts of contracts) adapterContract(facts)
}
