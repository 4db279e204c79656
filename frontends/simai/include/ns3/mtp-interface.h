// SimAI includes this header of ns-3 where its collectives are translated for a simulated network (NS3_MTP), and uses nothing of it.
#pragma once

namespace ns3 {}
