// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"
#include "unique_rows.cuh"

#include "kernels/distance_bodies.h"
#include "kernels/patch_exchange_bodies.h"

// The bodies that build graphs and partition them, one line each.
namespace PatchFEM
{
  namespace kernels
  {
#define PATCHFEM_INSTANTIATE_BODY(Body) template void parallel_for(Cuda, std::int64_t, const Body &)
#define PATCHFEM_INSTANTIATE_ROWS(Rows)              \
  PATCHFEM_INSTANTIATE_BODY(CoupledBody<Rows>);      \
  PATCHFEM_INSTANTIATE_BODY(DiagonalNormBody<Rows>); \
  PATCHFEM_INSTANTIATE_BODY(CountEdgesBody<Rows>);   \
  PATCHFEM_INSTANTIATE_BODY(WriteEdgesBody<Rows>)

    PATCHFEM_INSTANTIATE_ROWS(PatternRows);
    PATCHFEM_INSTANTIATE_ROWS(SlicedEllpackRows<float>);
    PATCHFEM_INSTANTIATE_ROWS(SlicedEllpackRows<double>);
    PATCHFEM_INSTANTIATE_ROWS(CSRRows<float>);
    PATCHFEM_INSTANTIATE_ROWS(CSRRows<double>);

    PATCHFEM_INSTANTIATE_BODY(LeastDistanceBody);
    PATCHFEM_INSTANTIATE_BODY(ReachBody);
    PATCHFEM_INSTANTIATE_BODY(CountShortEdgesBody);
    PATCHFEM_INSTANTIATE_BODY(WriteShortEdgesBody);
    PATCHFEM_INSTANTIATE_BODY(LineWeightBody);
    PATCHFEM_INSTANTIATE_BODY(CentroidBody);

    PATCHFEM_INSTANTIATE_BODY(RandomTupleBody);
    PATCHFEM_INSTANTIATE_BODY(FillTupleBody);
    PATCHFEM_INSTANTIATE_BODY(PropagateBody);
    PATCHFEM_INSTANTIATE_BODY(DecideBody);
    PATCHFEM_INSTANTIATE_BODY(MemberFlagBody);

    PATCHFEM_INSTANTIATE_BODY(FoundGroupsBody);
    PATCHFEM_INSTANTIATE_BODY(JoinGroupBody);
    PATCHFEM_INSTANTIATE_BODY(CentreBody);
    PATCHFEM_INSTANTIATE_BODY(KeepCentreBody);
    PATCHFEM_INSTANTIATE_BODY(RenumberGroupsBody);
    PATCHFEM_INSTANTIATE_BODY(GroupKeyBody);
    PATCHFEM_INSTANTIATE_BODY(GroupOffsetsBody);
    PATCHFEM_INSTANTIATE_BODY(GatherBody<int>);
    PATCHFEM_INSTANTIATE_UNIQUE_ROWS(TouchedGroups);
    template void team_for(Cuda, std::int64_t, const GroupWeightsBody &);
    PATCHFEM_INSTANTIATE_BODY(GroupSizeBody);
    PATCHFEM_INSTANTIATE_BODY(SizeTupleBody);

    PATCHFEM_INSTANTIATE_BODY(RankRootBody);
    PATCHFEM_INSTANTIATE_BODY(NameByRootBody);
    PATCHFEM_INSTANTIATE_BODY(AddBytesBody);
    PATCHFEM_INSTANTIATE_BODY(OfferBody);
    PATCHFEM_INSTANTIATE_BODY(AcceptBody);
    PATCHFEM_INSTANTIATE_BODY(MoveBody);
    PATCHFEM_INSTANTIATE_BODY(RootFlagBody);
    PATCHFEM_INSTANTIATE_BODY(PartnerBody);
    PATCHFEM_INSTANTIATE_BODY(UniteFlagBody);
    PATCHFEM_INSTANTIATE_BODY(UnitedNumberBody);
    PATCHFEM_INSTANTIATE_BODY(OffsetSizeBody);
    PATCHFEM_INSTANTIATE_BODY(ClampBody);
    PATCHFEM_INSTANTIATE_BODY(CutBody);
  } // namespace kernels
} // namespace PatchFEM
