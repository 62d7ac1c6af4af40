"""Groups administered with aiokafka; `tests.conformance.clients` lists the commands."""

import asyncio
from functools import partial

from aiokafka.admin import AIOKafkaAdminClient

from tests.conformance.python.lines import options, serve_async


async def execute(admin: AIOKafkaAdminClient, command: list[str]) -> list[object]:
    """Execute one command."""
    match command:
        case ["list"]:
            return [group[0] for group in await admin.list_consumer_groups()]
        case ["state", group]:
            (described,) = await admin.describe_consumer_groups([group])
            (error, _, state, _, _, members, *_) = described.groups[0]
            assert error == 0, described
            return [state.lower(), len(members)]
        case ["offsets", group]:
            found = await admin.list_consumer_group_offsets(group)
            return [f"{each.partition}:{at.offset}" for each, at in found.items()]
    return []


async def main() -> None:
    """Execute each command until told to leave."""
    admin = AIOKafkaAdminClient(bootstrap_servers=options()["bootstrap"])
    await admin.start()
    await serve_async(partial(execute, admin))
    await admin.close()


if __name__ == "__main__":
    asyncio.run(main())
